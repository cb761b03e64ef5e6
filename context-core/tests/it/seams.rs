//! The seams stay usable as trait objects: a generic method or a `Self` by value would not compile
//! here.

use context_core::{
    Clock, FragmentCodec, FragmentStore, HistoryStore, IdGenerator, Maintenance, Renderer, Store,
};

#[test]
fn every_seam_is_object_safe() {
    fn object<T: ?Sized + Send + Sync>() -> usize {
        size_of::<&T>()
    }
    let fat = 2 * size_of::<usize>();
    assert_eq!(object::<dyn Store>(), fat);
    assert_eq!(object::<dyn HistoryStore>(), fat);
    assert_eq!(object::<dyn FragmentStore>(), fat);
    assert_eq!(object::<dyn Maintenance>(), fat);
    assert_eq!(object::<dyn Renderer>(), fat);
    assert_eq!(object::<dyn FragmentCodec>(), fat);
    assert_eq!(object::<dyn Clock>(), fat);
    assert_eq!(object::<dyn IdGenerator>(), fat);
}
