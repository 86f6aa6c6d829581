// Package config reads a rig's configuration: one commented TOML file, read strictly, then the
// environment, then flags.
//
// One function sets all defaults. Unknown keys, wrong types and out-of-range values are errors with
// file, line and key. They also suggest a similar key.
package config
