package suite

import "io/fs"

// Known is what test files are held against besides themselves. What is nil is not checked.
type Known struct {
	Pages    []string // paths that the test network serves
	Measures []string
	Networks []string // profiles
	Dir      fs.FS    // the file's folder, in which its recordings are
}
