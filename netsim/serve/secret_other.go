//go:build !unix

package serve

import "io/fs"

// secretShown is false: who may read a file is not in its mode here.
func secretShown(fs.FileInfo) bool { return false }
