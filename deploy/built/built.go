// Package built builds the programs of this module for tests, and writes programs of tests. Only
// tests import it.
package built

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/eideticker/eideticker/capture/video/media"
)

// Media builds eideticker-media, and has the code of this process and of those that it starts use
// it. Where the variable of media names one already, that one stays.
func Media() error {
	if os.Getenv(media.Variable) != "" {
		return nil
	}
	path, err := mediaProgram()
	if err != nil {
		return err
	}
	return os.Setenv(media.Variable, path)
}

// Program builds eideticker as it is shipped, and returns its path.
func Program() (string, error) { return program() }

// Programs builds eideticker and eideticker-media as they are shipped, and returns their paths.
func Programs() (paths [2]string, err error) {
	if paths[0], err = program(); err == nil {
		paths[1], err = mediaProgram()
	}
	return paths, err
}

var (
	program      = sync.OnceValues(func() (string, error) { return build("0", "eideticker") })
	mediaProgram = sync.OnceValues(func() (string, error) { return build("1", "eideticker-media") })
)

// build has the go command build a program into a folder that all test runs share. If it is up to
// date there, that takes little: the go command's own cache has it.
func build(cgo, name string) (string, error) {
	root, err := root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "out", "test")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(dir, name+".lock")) // tests of several packages run at a time
	if err != nil {
		return "", err
	}
	defer unlock()
	path := filepath.Join(dir, name)
	_, noGit := os.Stat(filepath.Join(root, ".git")) // which the version is read from
	cmd := exec.Command("go", "build", fmt.Sprintf("-buildvcs=%v", noGit == nil), "-ldflags=-s -w", "-o", path,
		"./cmd/"+name)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED="+cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return path, nil
}

// root returns the folder of the module: tests run in one below it.
func root() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod above the working folder")
		}
	}
	return "", err
}
