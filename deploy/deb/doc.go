// Command deb makes the Debian package of a rig: the program, its service, the rules for its
// devices, its user and its configuration, as they stand in deploy/box, and what CI asks it with,
// of deploy/ci.
//
//	go run ./deploy/deb -o out bin/eideticker bin/eideticker-media
//
// Its input are the two programs that are to be in it, and the package is a function of that and of
// those folders: two from the same are equal, byte for byte. The version and the architecture are
// those that the Go linker wrote into the program, so that the package and eideticker version never
// differ; the libraries that it needs, and of which version, are told by dpkg-shlibdeps, as for
// Debian's own packages.
//
// It is a main of its own, and no command of the program, since only who builds the program needs
// it. Note: nfpm's own command was left out: it takes a fixed list of dependencies, and comes with
// the packagers of all other systems.
package main
