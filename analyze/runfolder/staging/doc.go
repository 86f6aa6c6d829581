// Package staging makes folders whose files appear all together, when they are whole, or not at
// all.
//
// What is to be in a folder is written into another one beside it, whose name begins with a point,
// and moved when nothing can fail any more. A program that is killed on the way leaves that other
// folder; it holds a lock as long as it lives, and whoever next writes to the same place takes away
// what has none.
package staging
