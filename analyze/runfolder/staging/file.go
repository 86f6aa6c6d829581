package staging

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// WriteFile writes a file atomically: it has its old or its new content, even after a power
// failure.
func WriteFile(path string, content []byte, mode os.FileMode) error {
	return writeFile(path, content, mode, func(string) error { return nil })
}

// WriteFileOfFolder does so for a file whose owner is to be that of its folder, also where root
// writes it.
func WriteFileOfFolder(path string, content []byte, mode os.FileMode) error {
	return writeFile(path, content, mode, Adopt)
}

// writeFile has the file that is put in place prepared.
func writeFile(path string, content []byte, mode os.FileMode, prepare func(name string) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), prefix(path)+"*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = tmp.Write(content)
	if err == nil {
		err = tmp.Chmod(mode)
	}
	if err == nil {
		err = prepare(tmp.Name())
	}
	if err == nil {
		err = tmp.Sync()
	}
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // what matters is why
		return fmt.Errorf("write %s: %w", path, err)
	}
	return syncFolder(filepath.Dir(path))
}

// CleanFile removes the temporary files that killed programs left beside a path. Only the sole
// writer of the file may call this.
func CleanFile(path string) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return // nothing is lost but a clean-up
	}
	for _, e := range entries {
		end, is := strings.CutPrefix(e.Name(), prefix(path))
		if is && e.Type().IsRegular() && end != "" && strings.Trim(end, "0123456789") == "" {
			_ = os.Remove(filepath.Join(filepath.Dir(path), e.Name())) // as above
		}
	}
}

// syncFolder makes a new name durable, on systems that have that.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	_ = f.Sync() // where a folder cannot be synced, the system sees to it itself
	return nil
}
