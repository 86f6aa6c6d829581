// Package rigvm runs a rig in a virtual machine with real kernel drivers, for tests.
//
// What a capture card, a USB port or a wireless network does when it misbehaves cannot be had from
// a fake that we wrote ourselves. Linux has drivers for hardware that does not exist and that fails
// on demand (vivid, dummy_hcd, netem, mac80211_hwsim), but loading them takes a kernel that has
// them and the right to do so. A VM gives both to anyone.
//
// # How it works
//
//	apt's signed index ─▶ Debian's kernel package ─▶ cache: unpacked, never installed ─▶ kernel, modules ─┐
//	                                             package guest, built static ─▶ /init ──┐                 ▼
//	                                                         busybox, static ─▶ /bin ───┴─▶ initramfs ─▶ QEMU
//	                                                                                                      │
//	test ◀──── VM.Run, VM.Get ◀──── frames over a virtio-serial port (internal/wire) ◀─────────────── agent ◀┘
//
// QEMU emulates the processor, so that a test sees the same machine everywhere; it starts in some
// three seconds of processor time. Time in it is slow and uneven: tests hold sequence numbers and
// content against each other there, never speed.
//
// A machine leaves nothing behind: kernel and initramfs are files in memory, the port is a pair of
// sockets, and QEMU dies with the process that started it. Only a Disk stays, which is the
// caller's. Nothing waits without bound: the guest's start, each call and the machine's life have
// timeouts, and a guest that panics ends QEMU, so that every call that waits gets a *diedError with
// the end of the console.
//
// The kernel is the newest of the Debian release that apt knows. It is kept in the user's cache
// folder (eideticker/rigvm there, about 500 MB; EIDETICKER_CACHE names another place for
// eideticker's cache), and a newer one replaces it. Its SHA-256 is held against apt's index at each
// start, and that of each unpacked file against a list made when it was unpacked.
//
// # Adding a test that runs in the VM
//
// The test stands in the package that it tests, behind a build tag, and uses devices as if they
// were there:
//
//	//go:build rigvm
//
//	func TestFaults(t *testing.T) { … open("/dev/video0") … }
//
// A test without the tag boots the machine and relays what happens inside; each test inside is a
// subtest with its log. Names begin with TestVM, by which `make test-rig` finds them:
//
//	func TestVM(t *testing.T) {
//		vm := rigvm.Boot(t, rigvm.Config{Modules: []rigvm.Module{{Name: "vivid", Options: []string{"n_devs=1"}}}})
//		rigvm.RunTests(t, vm, rigvm.Tests{})
//	}
//
// Helpers that both kinds of tests need go to a file without a tag. In the guest everything is
// root, PATH is /bin with busybox, and proc, sys, dev, debugfs and configfs are mounted. The
// program under test is given as a file (Config.Files) and run with VM.Run. Where a VM cannot run,
// Boot skips the test and says why; under CI=true it fails.
//
// Note: 9p for files and KVM for speed were left out. Files through the port need no module and
// reach 30 to 70 MB/s under emulation; nested KVM is often there and broken.
package rigvm
