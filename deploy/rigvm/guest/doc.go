//go:build linux

// Command guest is the first program that runs in a VM of package rigvm: its kernel starts it as
// /init.
//
// It is a main of its own because it runs alone in another machine, without the rest of the
// project. It is a static program that mounts the usual file systems of Linux. It loads the modules
// for the port and the disk. It serves the host's calls through the port (see package wire).
//
// It runs as two processes. The first, number 1, starts the second and reaps orphaned processes. It
// ends the machine if the second ends. The second is the agent. They are separate because number 1
// waits for any child, and the agent for its own.
package main
