//go:build !unix

package serve

import "io/fs"

// secretShown is false: on this system a file's mode does not state its readers.
func secretShown(fs.FileInfo) bool { return false }
