//go:build !unix

package recording

import "os"

// keepOwner gives a new file the mode of another.
func keepOwner(f *os.File, of os.FileInfo) error { return os.Chmod(f.Name(), of.Mode().Perm()) }
