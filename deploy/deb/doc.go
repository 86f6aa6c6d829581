// Command deb makes the Debian package of a rig. It has the program, its service, device rules,
// user and configuration from deploy/box, and the CI client from deploy/ci.
//
//	go run ./deploy/deb -o out bin/eideticker bin/eideticker-media
//
// The package is a function of the two given programs and those folders: two packages of the same
// input are equal, byte for byte. The version and the architecture are those that the Go linker
// wrote into the program. So they always equal those of eideticker version. dpkg-shlibdeps finds
// the necessary libraries and their versions, as for Debian's own packages.
//
// It is a separate main, since only the builder of the program needs it. Note: nfpm's own command
// was left out. It takes a fixed list of dependencies, and includes the packagers of all other
// systems.
package main
