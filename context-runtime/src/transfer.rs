//! Whole chats in and out of stores, through the public interface of stores alone.

mod tree;

pub use tree::{Tree, TreeError, TreePlan, TreeWritten};
