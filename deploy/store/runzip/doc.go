// Package runzip packs folders of runs into zip files and unpacks them, to move runs between rigs
// and people.
//
// It is between package store, or another folder, and the network. A zip file from outside is
// untrusted. [Limits] bounds its content, and [Verify] reads all of it before it is used.
//
// Note: a zip file has its table at the end, and its stated sizes are only claims. So files are
// unpacked from a zip file on a disk, never from a stream. Each entry is read up to its stated size
// and a byte more.
package runzip
