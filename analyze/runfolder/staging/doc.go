// Package staging makes folders whose files appear all together when they are complete, or not at
// all.
//
// A folder's files are written into another one beside it, whose name begins with a point. It is
// moved when no further step can fail. A program that is killed leaves that other folder. Programs
// hold a lock on theirs while they live. The next program that writes to the same place removes
// folders without a lock.
//
// Output files of [Create] and [CreateNamed] appear complete, too. They have no lock, and a killed
// program leaves theirs.
package staging
