//go:build linux && !rigvm

package rigvm

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// archiveOf replaces Debian's archive. It has packages made by the test, and programs in place of
// apt's that know them and record their calls.
type archiveOf struct {
	programs
	t   *testing.T
	dir string // what apt would fetch from
}

func newArchive(t *testing.T) *archiveOf {
	t.Helper()
	Need(t)
	p, err := findPrograms()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("EIDETICKER_CACHE", t.TempDir())
	a := &archiveOf{p, t, t.TempDir()}
	// "fresh" stands for the lists of our own, which are there only after an update.
	a.aptCache = a.program(`
case "$*" in *Dir::State::Lists*) lists=$A/fresh;; *) lists=$A/stale;; esac
for last; do :; done
cat "$lists/${last%%=*}" 2>/dev/null || { echo "E: No packages found" >&2; exit 100; }`)
	a.aptGet = a.program(`
echo "$*" >>$A/asked
case "$*" in
*update) mkdir -p $A/fresh && cp $A/coming/* $A/fresh/ ;;
*) for last; do :; done; cp "$A/pool/${last%%=*}.deb" . || { echo "E: 404 Not Found" >&2; exit 100; } ;;
esac`)
	for _, sub := range []string{"stale", "coming", "pool"} {
		if err := os.Mkdir(filepath.Join(a.dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func (a *archiveOf) program(text string) string {
	return script(a.t, "A="+a.dir+text)
}

func (a *archiveOf) write(name, content string) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.dir, name), []byte(content), 0o644); err != nil {
		a.t.Fatal(err)
	}
}

// publish makes a package of a kernel and puts it into lists.
func (a *archiveOf) publish(lists, release string) {
	a.t.Helper()
	root := a.t.TempDir()
	for name, content := range map[string]string{
		"DEBIAN/control": "Package: linux-image-" + release +
			"\nVersion: 1\nArchitecture: amd64\nMaintainer: a test\nDescription: none\n",
		"boot/vmlinuz-" + release:                     "the kernel " + release,
		"lib/modules/" + release + "/modules.order":   "",
		"lib/modules/" + release + "/modules.builtin": "kernel/net/unix/unix.ko\n",
	} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(content), 0o644)); err != nil {
			a.t.Fatal(err)
		}
	}
	deb := filepath.Join(a.dir, "pool", "linux-image-"+release+".deb")
	if _, err := output(exec.Command("dpkg-deb", "--root-owner-group", "-b", root, deb)); err != nil {
		a.t.Fatal(err)
	}
	content, err := os.ReadFile(deb)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(lists+"/"+metaPackage, "Package: "+metaPackage+"\nDepends: linux-image-"+release+" (= 1)\n")
	a.write(lists+"/linux-image-"+release, fmt.Sprintf("Package: linux-image-%s\nVersion: 1\nSize: %d\nSHA256: %x\n",
		release, len(content), sha256.Sum256(content)))
}

// downloads says how often a package was asked for.
func (a *archiveOf) downloads() int {
	text, _ := os.ReadFile(filepath.Join(a.dir, "asked")) // nothing has been asked if it is not there
	return strings.Count(string(text), " download ")
}

// open opens the kernel and returns what it is.
func (a *archiveOf) open() (string, error) {
	k, err := openKernel(a.t.Context(), a.programs)
	if err != nil {
		return "", err
	}
	defer k.close()
	image, err := k.image()
	return string(image), err
}

// cached returns the one path in the cache that fits.
func (a *archiveOf) cached(pattern string) string {
	a.t.Helper()
	found, err := filepath.Glob(filepath.Join(os.Getenv("EIDETICKER_CACHE"), "rigvm", pattern))
	if err != nil || len(found) != 1 {
		a.t.Fatalf("%d paths fit %s", len(found), pattern)
	}
	return found[0]
}

// damage changes one byte in the middle of a file.
func damage(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil || len(content) == 0 {
		t.Fatalf("read %s: %v", path, err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestCache(t *testing.T) {
	for _, tc := range []struct {
		name      string
		harm      func(*testing.T, *archiveOf)
		want      string // kernel, or the beginning of the error
		downloads int    // of two times that it is opened
	}{
		{"whole", func(*testing.T, *archiveOf) {}, "the kernel 6.1", 1},
		{"the package is damaged", func(t *testing.T, a *archiveOf) { damage(t, a.cached("*.deb")) }, "the kernel 6.1",
			2},
		{"the package was cut", func(t *testing.T, a *archiveOf) {
			if err := os.Truncate(a.cached("*.deb"), 100); err != nil {
				t.Fatal(err)
			}
		}, "the kernel 6.1", 2},
		{"the list of hashes is damaged",
			func(t *testing.T, a *archiveOf) { damage(t, a.cached("linux-image-6.1_*-unpacked-*/SUMS")) },
			"the kernel 6.1", 1},
		{"the unpacked kernel is gone", func(t *testing.T, a *archiveOf) {
			if err := os.RemoveAll(a.cached("*-unpacked-*")); err != nil {
				t.Fatal(err)
			}
		}, "the kernel 6.1", 1},
		{"an unpacked file is damaged",
			func(t *testing.T, a *archiveOf) { damage(t, a.cached("linux-image-6.1_*-unpacked-*/boot/vmlinuz-*")) },
			"boot/vmlinuz-6.1 in the cache is damaged: remove ", 1},
		{"a newer kernel", func(t *testing.T, a *archiveOf) { a.publish("stale", "6.2") }, "the kernel 6.2", 2},
		{"gone from the archive, which has a newer one", func(t *testing.T, a *archiveOf) {
			damage(t, a.cached("*.deb"))
			if err := os.Remove(filepath.Join(a.dir, "pool", "linux-image-6.1.deb")); err != nil {
				t.Fatal(err)
			}
			a.publish("coming", "6.2")
		}, "the kernel 6.2", 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := newArchive(t)
			a.publish("stale", "6.1")
			if got, err := a.open(); got != "the kernel 6.1" {
				t.Fatalf("%q, %v", got, err)
			}
			tc.harm(t, a)
			got, err := a.open()
			if err != nil {
				got = err.Error()
			}
			if !strings.HasPrefix(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
			if n := a.downloads(); n != tc.downloads {
				t.Errorf("%d downloads, want %d", n, tc.downloads)
			}
			if _, err := a.open(); err == nil && a.downloads() != tc.downloads {
				t.Error("opened once more, it is downloaded again")
			}
			a.cached("*.deb") // one, or this fails
			if left, _ := filepath.Glob(filepath.Join(os.Getenv("EIDETICKER_CACHE"), "rigvm", "new-*")); len(left) > 0 {
				t.Errorf("left in the cache: %q", left)
			}
		})
	}
}

// TestDamagedKernelIsMadeNew is the way of start through a damaged cache.
func TestDamagedKernelIsMadeNew(t *testing.T) {
	a := newArchive(t)
	a.publish("stale", "6.1")
	if _, err := a.open(); err != nil {
		t.Fatal(err)
	}
	damage(t, a.cached("linux-image-6.1_*-unpacked-*/boot/vmlinuz-*"))
	var corrupt *corruptError
	if _, err := readBoot(t.Context(), a.programs, Config{}, nil); !errors.As(err, &corrupt) {
		t.Fatalf("error %v", err)
	}
	if got, err := a.open(); got != "the kernel 6.1" || a.downloads() != 1 {
		t.Errorf("%q, %v, %d downloads", got, err, a.downloads())
	}
}

func TestNoKernel(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(*archiveOf)
		want string
	}{
		{"no lists", func(*archiveOf) {}, "no kernel for the VM"},
		{"a download that is not what the index says", func(a *archiveOf) {
			a.publish("stale", "6.1")
			a.publish("coming", "6.1")
			damage(a.t, filepath.Join(a.dir, "pool", "linux-image-6.1.deb"))
		}, "as the signed index says"},
		{"an index without a hash", func(a *archiveOf) {
			a.publish("coming", "6.1")
			a.write("coming/linux-image-6.1", "Package: linux-image-6.1\nVersion: 1\nSize: 10\n")
		}, `the SHA-256 ""`},
		{"an index with a size that is none", func(a *archiveOf) {
			a.publish("coming", "6.1")
			a.write("coming/linux-image-6.1", "Package: linux-image-6.1\nVersion: 1\nSize: -1\n")
		}, `a size of "-1"`},
		{"another distribution", func(a *archiveOf) {
			a.write("coming/"+metaPackage, "Package: "+metaPackage+
				"\nDepends: linux\n")
		},
			`depends on "linux", which names no kernel`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := newArchive(t)
			tc.make(a)
			_, err := a.open()
			var missing *missingError
			if !errors.As(err, &missing) || !strings.Contains(err.Error(), tc.want) ||
				!strings.Contains(err.Error(), "run apt-get update") {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}

// TestCacheAtOnce opens an empty cache from several sides.
func TestCacheAtOnce(t *testing.T) {
	a := newArchive(t)
	a.publish("stale", "6.1")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, err := a.open(); got != "the kernel 6.1" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	wg.Wait()
	if n := a.downloads(); n != 1 {
		t.Errorf("%d downloads", n)
	}
}

// TestKilledWhileFetching finds what a process left that had no time to clean up.
func TestKilledWhileFetching(t *testing.T) {
	a := newArchive(t)
	a.publish("stale", "6.1")
	left := filepath.Join(os.Getenv("EIDETICKER_CACHE"), "rigvm", "new-123")
	if err := os.MkdirAll(left, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := a.open(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

// TestPayload cuts the packed kernel out of images that say where it is, or lie. What it is packed
// with, the machines of the other tests boot from.
func TestPayload(t *testing.T) {
	image := func(magic string, offset, length uint32) []byte {
		b := make([]byte, 1024+16)
		b[0x1f1] = 1
		copy(b[0x202:], magic)
		binary.LittleEndian.PutUint32(b[0x248:], offset)
		binary.LittleEndian.PutUint32(b[0x24c:], length)
		copy(b[1024+2:], "payload1234")
		return b
	}
	for _, tc := range []struct {
		name  string
		image []byte
		want  string
	}{
		{"an image", image("HdrS", 2, 11), "payload"},
		{"no image", image("none", 2, 11), ""},
		{"short", []byte("MZ"), ""},
		{"longer than the file", image("HdrS", 2, 15), ""},
		{"length near 2^32", image("HdrS", 2, 1<<32-1), ""},
		{"offset near 2^32", image("HdrS", 1<<32-1, 11), ""},
		{"no room for the size", image("HdrS", 2, 3), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := string(payloadOf(tc.image)); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestArchiveIsCpio(t *testing.T) {
	busybox, err := find("busybox", "busybox-static")
	if err != nil {
		Need(t)
	}
	var a archive
	a.file("/a/b/file", 0o640, []byte("content"))
	a.link("/a/link", "b/file")
	a.file("a/empty", 0o600, nil)
	cmd := exec.Command(busybox, "cpio", "-i", "-d")
	cmd.Dir = t.TempDir()
	cmd.Stdin = bytes.NewReader(a.end())
	if _, err := output(cmd); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(cmd.Dir, "a/link"))
	if err != nil || string(content) != "content" {
		t.Errorf("%q, %v", content, err)
	}
	if info, err := os.Stat(filepath.Join(cmd.Dir, "a/b/file")); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	if info, err := os.Stat(filepath.Join(cmd.Dir, "a/empty")); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
}
