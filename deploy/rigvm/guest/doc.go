//go:build linux

// Command guest is the first program that runs in a VM of package rigvm: its kernel starts it as
// /init.
//
// It stands beside cmd/eideticker and the agents of package controller as a main of its own because
// it runs alone in another machine, where nothing else of the project is: a static program that
// mounts what a Linux system has mounted, loads the modules that carry the port and the disk, and
// does what the host asks through the port (see package wire).
//
// There are two processes. The first, number 1, starts the second, reaps what is left behind by
// programs, and ends the machine if the second ends. The second is the agent. They are apart
// because number 1 has to wait for any child, and the agent has to wait for its own.
package main
