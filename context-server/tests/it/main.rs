//! Tests of the inspector: its pages and API without a socket, and in a browser.

mod access;
mod pages;
mod sent;
mod site;
