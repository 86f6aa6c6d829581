// Package runzip packs folders of runs into zip files and takes them out again, for rigs and people
// to hand runs to each other.
//
// Place in the flow: between package store, or a folder of somebody's, and the network. A zip file
// from outside is hostile: what it may have is in [Limits], and nothing of it is believed before
// [Verify] has read it.
//
// Note: a zip file has its table at the end, and what it says of sizes is only a claim. So a file
// is taken out of one that lies on a disk, never out of a stream, and each entry is read up to the
// size that it claims and a byte more.
package runzip
