//go:build unix

package serve

import "io/fs"

// secretShown reports whether others than its owner may read a file.
func secretShown(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }
