// Package rigvm runs a rig in a virtual machine with real kernel drivers, for tests.
//
// Faults of a capture card, a USB port or a wireless network cannot be tested with our own fakes.
// Linux has drivers for virtual hardware that fails on demand: vivid, dummy_hcd, netem and
// mac80211_hwsim. Loading them needs a kernel that has them and privileges. A VM gives both to any
// user.
//
// # How it works
//
//	apt's signed index ─▶ Debian's kernel package ─▶ cache, never installed ─▶ kernel, modules ─┐
//	                                  package guest, built static ─▶ /init ──┐                  ▼
//	                                              busybox, static ─▶ /bin ───┴─▶ initramfs ─▶ QEMU
//	                                                                                            │
//	test ◀── VM.Run, VM.Get ◀── frames over a virtio-serial port (internal/wire) ◀──── agent ◀──┘
//
// QEMU emulates the processor, so a test sees the same machine everywhere. It starts in some three
// seconds of processor time. Time in it is slow and uneven. Tests compare sequence numbers and
// content there, never speed.
//
// A machine leaves nothing behind. Kernel and initramfs are files in memory. The port is a pair of
// sockets. QEMU dies with the process that started it. Only a Disk stays, which is the caller's.
// Every wait is bounded: the guest's start, each call and the machine's life have timeouts. A guest
// that panics ends QEMU. Every waiting call then gets a *diedError with the end of the console.
//
// The kernel is the newest of the Debian release that apt knows. It is kept in the user's cache
// folder: eideticker/rigvm there, about 500 MB. EIDETICKER_CACHE names another place. A newer
// kernel replaces it. Its SHA-256 is compared with apt's index at each start. That of each unpacked
// file is compared with a list made at unpacking.
//
// # Adding a test that runs in the VM
//
// The test is in the package that it tests, behind a build tag. It uses devices as if they were
// real:
//
//	//go:build rigvm
//
//	func TestFaults(t *testing.T) { … open("/dev/video0") … }
//
// A test without the tag boots the machine and relays the results. Each test inside is a subtest
// with its log. Names begin with TestVM, by which `make test-rig` finds them:
//
//	func TestVM(t *testing.T) {
//		vm := rigvm.Boot(t, rigvm.Config{Modules: []rigvm.Module{
//			{Name: "vivid", Options: []string{"n_devs=1"}}}})
//		rigvm.RunTests(t, vm, rigvm.Tests{})
//	}
//
// Helpers for both kinds of tests go to a file without a tag. In the guest everything is root. PATH
// is /bin with busybox, and proc, sys, dev, debugfs and configfs are mounted. Pass the program
// under test as a file (Config.Files) and run it with VM.Run. If a VM cannot run, Boot skips the
// test with the reason. Under CI=true it fails.
//
// Note: 9p for files and KVM for speed were left out. Files through the port need no module and
// reach 30 to 70 MB/s under emulation. Nested KVM is often present and broken.
package rigvm
