"""Offer, send and receive handoffs."""
