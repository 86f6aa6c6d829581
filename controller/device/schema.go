package device

import (
	"bytes"
	_ "embed"
)

//go:embed devices.schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of files of devices, for editors. It takes every
// file that parse takes, and refuses most that parse refuses: what depends on more than one key, or
// on what there is, it does not know.
func Schema() []byte { return bytes.Clone(schema) }
