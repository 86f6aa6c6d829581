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
	"strings"
)

const sumsName = "SUMS"

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
	d, a, err := findKernel(ctx, p, dir, false)
	if err != nil {
		return nil, err
	}
	deb := filepath.Join(dir, d.key()+".deb")
	if checkFile(deb, d) != nil {
		// What the lists name may have left the archive since.
		if err := fetch(ctx, a, d, dir); err != nil {
			if d, a, err = findKernel(ctx, p, dir, true); err != nil {
				return nil, err
			}
			if err := fetch(ctx, a, d, dir); err != nil {
				return nil, &MissingError{errors.Join(errNoKernel, err).Error(), kernelAdvice}
			}
		}
		deb = filepath.Join(dir, d.key()+".deb")
	}
	tree := strings.TrimSuffix(deb, ".deb")
	k, err := openTree(p, tree)
	if err == nil {
		return k, nil
	}
	if err := unpack(ctx, p, deb, tree); err != nil {
		return nil, fmt.Errorf("unpack %s: %w", deb, err)
	}
	return openTree(p, tree)
}

// fetch downloads a package, checks it, and puts it in its place; kernels that it replaces are removed.
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
	if err := prune(dir, filepath.Base(tmp)); err != nil {
		return err
	}
	return os.Rename(path, filepath.Join(dir, d.key()+".deb"))
}

// prune removes kernels, and what a killed process has left. The lock says that none is in use.
func prune(dir, keep string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if name != keep && (strings.HasPrefix(name, "linux-image-") || strings.HasPrefix(name, "new-")) {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				return err
			}
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
		return fmt.Errorf("%s has %d bytes and SHA-256 %s, not %d and %s as the signed index says", path, n, got, d.bytes, d.sha256)
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
	if err := writeSums(tmp); err != nil {
		return err
	}
	if err := os.RemoveAll(tree); err != nil {
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
func (k *kernel) image() ([]byte, error) { return k.read(filepath.Join("boot", "vmlinuz-"+k.release)) }

// corruptError says that a file of the cache has changed since it was unpacked.
type corruptError struct{ dir, name string }

func (e *corruptError) Error() string {
	return fmt.Sprintf("%s in the cache is damaged: remove %s", e.name, e.dir)
}
