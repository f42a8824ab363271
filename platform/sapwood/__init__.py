"""Sapwood: a private memory of documents, mail and chats that says where every sentence comes from."""

__version__ = "0.1.0"
