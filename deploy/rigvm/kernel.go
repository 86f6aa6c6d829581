//go:build linux

package rigvm

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const sumsName = "SUMS"

// treeSuffix ends the name of an unpacked package. It changes with what we make of one.
const treeSuffix = "-unpacked-2"

// kernel is an unpacked kernel package. The cache is locked until close.
type kernel struct {
	programs
	dir     string            // root that has boot and lib/modules
	release string            // as uname tells it
	sums    map[string]string // hexadecimal SHA-256 by path below dir
	lock    *os.File
}

// openKernel returns the newest kernel of the Debian release, from the cache or through it.
func openKernel(ctx context.Context, p programs) (*kernel, error) {
	dir, err := cacheDir()
	if err != nil {
		return nil, err
	}
	lock, err := lockCache(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("open the cache of kernels: %w", err)
	}
	k, err := prepare(ctx, p, dir)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	k.lock = lock
	return k, nil
}

// reopenKernel returns a kernel that this process has used before.
func reopenKernel(ctx context.Context, p programs, tree string) (*kernel, error) {
	lock, err := lockCache(ctx, filepath.Dir(tree))
	if err != nil {
		return nil, fmt.Errorf("open the cache of kernels: %w", err)
	}
	k, err := openTree(p, tree)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	k.lock = lock
	return k, nil
}

func (k *kernel) close() { _ = k.lock.Close() }

// prepare fetches and unpacks what the cache does not have whole.
func prepare(ctx context.Context, p programs, dir string) (*kernel, error) {
	d, err := provide(ctx, p, dir)
	if err != nil {
		return nil, err
	}
	deb, tree := d.in(dir), filepath.Join(dir, d.key()+treeSuffix)
	k, err := openTree(p, tree)
	if err == nil {
		return k, nil
	}
	if err := unpack(ctx, p, deb, tree); err != nil {
		return nil, fmt.Errorf("unpack %s: %w", deb, err)
	}
	return openTree(p, tree)
}

// in returns the package's path in the cache.
func (d debPackage) in(dir string) string { return filepath.Join(dir, d.key()+".deb") }

// provide returns a package that is complete in the cache. The system's lists name it. They may be
// missing, or older than the packages that the archive still keeps. Then our own lists do.
func provide(ctx context.Context, p programs, dir string) (debPackage, error) {
	system, err := systemLists(p, dir)
	if err != nil {
		return debPackage{}, err
	}
	own, err := ownLists(p, dir)
	if err != nil {
		return debPackage{}, err
	}
	first, errFirst := system.resolve(ctx)
	if errFirst == nil && checkFile(first.in(dir), first) == nil {
		return first, nil
	}
	if d, err := own.resolve(ctx); err == nil && checkFile(d.in(dir), d) == nil {
		return d, nil
	}
	if errFirst == nil {
		if errFirst = fetch(ctx, system, first, dir); errFirst == nil {
			return first, nil
		}
	}
	d, err := renew(ctx, own, dir)
	if ctx.Err() != nil {
		return d, fmt.Errorf("fetch a kernel: %w", context.Cause(ctx))
	}
	if err != nil {
		return d, &missingError{errors.Join(errNoKernel, errFirst, err).Error(), kernelAdvice}
	}
	return d, nil
}

// renew fetches our own lists, and the package that they name.
func renew(ctx context.Context, own apt, dir string) (debPackage, error) {
	if err := own.update(ctx); err != nil {
		return debPackage{}, fmt.Errorf("fetch lists of packages: %w", err)
	}
	d, err := own.resolve(ctx)
	if err != nil || checkFile(d.in(dir), d) == nil {
		return d, err
	}
	return d, fetch(ctx, own, d, dir)
}

var errNoKernel = errors.New("no kernel for the VM")

const kernelAdvice = "it comes from Debian's archive through apt: run apt-get update, and see that the network is there"

// fetch downloads a package, checks it, and puts it in its place; kernels that it replaces are
// removed.
func fetch(ctx context.Context, a apt, d debPackage, dir string) error {
	tmp, err := os.MkdirTemp(dir, "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	path, err := a.download(ctx, d, tmp)
	if err != nil {
		return err
	}
	if err := checkFile(path, d); err != nil {
		return err
	}
	if err := prune(dir, tmp); err != nil {
		return err
	}
	return os.Rename(path, d.in(dir))
}

// prune removes all other kernels, and what a killed process has left. The lock says that none is
// in use.
func prune(dir string, keep ...string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		ours := strings.HasPrefix(e.Name(), "linux-image-") || strings.HasPrefix(e.Name(), "new-")
		if !ours || slices.Contains(keep, path) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// checkFile holds a package against what apt's index says of it.
func checkFile(path string, d debPackage) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, maxPackageBytes+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); n != d.bytes || got != d.sha256 {
		return fmt.Errorf("%s has %d bytes and SHA-256 %s, not %d and %s as the signed index says", path, n, got,
			d.bytes, d.sha256)
	}
	return nil
}

// unpack unpacks a checked package beside its place and renames it.
func unpack(ctx context.Context, p programs, deb, tree string) error {
	tmp, err := os.MkdirTemp(filepath.Dir(tree), "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if _, err := output(exec.CommandContext(ctx, p.dpkgDeb, "-x", deb, tmp)); err != nil {
		return err
	}
	release, err := releaseIn(tmp)
	if err != nil {
		return err
	}
	if _, err := output(exec.CommandContext(ctx, p.depmod, "-b", tmp, release)); err != nil {
		return err
	}
	if err := unpackImage(ctx, filepath.Join(tmp, "boot", "vmlinuz-"+release),
		filepath.Join(tmp, unpackedImage)); err != nil {
		return err
	}
	if err := writeSums(tmp); err != nil {
		return err
	}
	if err := prune(filepath.Dir(tree), tmp, deb); err != nil {
		return err
	}
	return os.Rename(tmp, tree)
}

// releaseIn finds the one kernel below root.
func releaseIn(root string) (string, error) {
	found, err := filepath.Glob(filepath.Join(root, "boot", "vmlinuz-*"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("%d kernels in %s", len(found), root)
	}
	return strings.TrimPrefix(filepath.Base(found[0]), "vmlinuz-"), nil
}

// writeSums writes the hash of each file below root, and last of what it has written so far.
func writeSums(root string) error {
	var out bytes.Buffer
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(content), name)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(out.Bytes()), sumsName)
	return os.WriteFile(filepath.Join(root, sumsName), out.Bytes(), 0o644)
}

// openTree opens an unpacked kernel; its files are checked as they are read.
func openTree(p programs, root string) (*kernel, error) {
	text, err := os.ReadFile(filepath.Join(root, sumsName))
	if err != nil {
		return nil, err
	}
	k := &kernel{programs: p, dir: root, sums: map[string]string{}}
	read := 0
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		sum, name, _ := strings.Cut(lines.Text(), "  ")
		if name == sumsName && sum == fmt.Sprintf("%x", sha256.Sum256(text[:read])) {
			k.release, err = releaseIn(root)
			return k, err
		}
		k.sums[name] = sum
		read += len(lines.Bytes()) + 1
	}
	return nil, fmt.Errorf("%s in %s is damaged", sumsName, root)
}

// read returns a file of the kernel, or an error if it is not as it was unpacked.
func (k *kernel) read(name string) ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(k.dir, name))
	if err != nil {
		return nil, err
	}
	if fmt.Sprintf("%x", sha256.Sum256(content)) != k.sums[name] {
		return nil, &corruptError{k.dir, name}
	}
	return content, nil
}

// image returns the kernel itself.
func (k *kernel) image() ([]byte, error) {
	if _, ok := k.sums[unpackedImage]; ok {
		return k.read(unpackedImage)
	}
	return k.read(filepath.Join("boot", "vmlinuz-"+k.release))
}

// corruptError says that a file of the cache has changed since it was unpacked.
type corruptError struct{ dir, name string }

func (e *corruptError) Error() string {
	return fmt.Sprintf("%s in the cache is damaged: remove %s", e.name, e.dir)
}
