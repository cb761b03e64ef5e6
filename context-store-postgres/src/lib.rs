//! The PostgreSQL store of the context layer.
