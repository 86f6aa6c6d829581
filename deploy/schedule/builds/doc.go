// Package builds lists builds of browsers or of web sites, and keeps them on the disk.
//
// A [Feed] reads an index. Its ledger, a file in the data directory, gives each build a number
// that never changes. The ledger also pins the hash of a build at its first use. A build whose
// hash differs later is broken.
//
// [Cache] downloads and unpacks builds. Its folders are named by the SHA-256 of the archive, or of
// the tree where a feed has no archive. Indexes and archives are untrusted: bytes, files, depth and
// time are bounded. Links and special files are refused.
//
// Note: a folder feed's unpacked builds are used in place. Other users must not be able to change
// them.
package builds
