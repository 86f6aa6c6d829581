// Package siterecord records a site into an archive with a browser of this machine, and keeps
// archives by address.
//
// [Record] starts a browser behind a recorder and waits until screen and network are still. It
// reads the archive back and refuses one without the page itself. A [Cache] has one archive per
// address. An archive appears under its name when it is whole.
package siterecord
