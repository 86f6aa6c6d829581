//go:build linux

package rigvm

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// moduleFile is a file of a module, below the kernel's root.
type moduleFile struct{ path string }

// name is what the file is called in the guest.
func (m moduleFile) name() string { return filepath.Base(m.path) }

// resolve returns the files to load for a module, in order, itself last; none if it is built into
// the kernel.
func (k *kernel) resolve(ctx context.Context, m Module) ([]moduleFile, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	// Without the host's configuration: its blacklists and options are for its own kernel.
	out, err := output(exec.CommandContext(ctx, k.modprobe, "-C", "/dev/null", "-d", k.dir, "-S", k.release,
		"--show-depends", m.Name))
	if err != nil {
		return nil, fmt.Errorf("find module %s in kernel %s: %w", m.Name, k.release, err)
	}
	files, err := parseShowDepends(out, k.dir)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	return files, k.checkOptions(ctx, m, files[len(files)-1])
}

// parseShowDepends reads lines of "insmod PATH [OPTIONS]" and "builtin NAME".
func parseShowDepends(out []byte, root string) ([]moduleFile, error) {
	var files []moduleFile
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) >= 2 && words[0] == "insmod":
			path, err := filepath.Rel(root, words[1])
			if err != nil || !filepath.IsLocal(path) {
				return nil, fmt.Errorf("modprobe names the file %q, outside %s", words[1], root)
			}
			files = append(files, moduleFile{path})
		case len(words) == 2 && words[0] == "builtin":
		default:
			return nil, fmt.Errorf("modprobe says %q, which is not understood", lines.Text())
		}
	}
	return files, lines.Err()
}

// checkOptions refuses options that the module does not have: a kernel would only log them.
func (k *kernel) checkOptions(ctx context.Context, m Module, file moduleFile) error {
	if len(m.Options) == 0 {
		return nil
	}
	out, err := output(exec.CommandContext(ctx, k.modinfo, "-F", "parm", filepath.Join(k.dir, file.path)))
	if err != nil {
		return fmt.Errorf("list options of module %s: %w", m.Name, err)
	}
	var known []string
	for line := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(line, ":")
		known = append(known, strings.TrimSpace(name))
	}
	for _, o := range m.Options {
		name, _, _ := strings.Cut(o, "=")
		if !slices.Contains(known, name) {
			return fmt.Errorf("module %s has no option %q; it has %s", m.Name, name, strings.Join(known, ", "))
		}
	}
	return nil
}
