package suite

import "embed"

//go:embed standard/*.yaml
var standard embed.FS
