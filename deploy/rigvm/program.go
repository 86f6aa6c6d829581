//go:build linux

package rigvm

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// program returns a program of this machine and the libraries that it is linked with, as
// Config.Files takes them: each is where it is here. One that is not installed is a *missingError,
// which names the Debian package.
func program(ctx context.Context, name, pkg string) (map[string]string, error) {
	path, err := find(name, pkg)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "ldd", path)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	text, err := output(cmd)
	if err != nil {
		return nil, fmt.Errorf("list the libraries of %s: %w", path, err)
	}
	libraries, err := parseLibraries(string(text))
	if err != nil {
		return nil, fmt.Errorf("list the libraries of %s: %w", path, err)
	}
	files := map[string]string{path: path}
	for _, l := range libraries {
		files[l] = l
	}
	return files, nil
}

// parseLibraries reads what ldd writes: "libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x…)",
// "/lib64/ld-linux-x86-64.so.2 (0x…)", "linux-vdso.so.1 (0x…)".
func parseLibraries(text string) (paths []string, err error) {
	for line := range strings.Lines(text) {
		name, where, found := strings.Cut(strings.TrimSpace(line), " => ")
		if !found {
			where = name
		}
		if where == "not found" {
			return nil, fmt.Errorf("%s is not there", name)
		}
		if path, _, ok := strings.Cut(where, " (0x"); ok && strings.HasPrefix(path, "/") {
			paths = append(paths, path)
		}
	}
	return paths, nil
}
