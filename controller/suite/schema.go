package suite

import (
	"bytes"
	_ "embed"
)

//go:embed test.schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of test files, for editors. It takes every file
// that Parse takes, and refuses most that Parse refuses: what depends on more than one place of a
// file, or on what there is, it does not know.
func Schema() []byte { return bytes.Clone(schema) }
