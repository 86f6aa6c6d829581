package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a size as people write it: 4GiB, 512MiB, 1GB or 4096.
type Bytes int64

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Bytes) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	i := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if i < 0 {
		i = len(s)
	}
	unit, ok := map[string]float64{
		"": 1, "b": 1, "k": 1 << 10, "kib": 1 << 10, "kb": 1e3, "m": 1 << 20, "mib": 1 << 20, "mb": 1e6,
		"g": 1 << 30, "gib": 1 << 30, "gb": 1e9, "t": 1 << 40, "tib": 1 << 40, "tb": 1e12,
	}[strings.ToLower(strings.TrimSpace(s[i:]))]
	n, err := strconv.ParseFloat(s[:i], 64)
	if !ok || err != nil || n*unit > math.MaxInt64/2 {
		return fmt.Errorf("invalid size %q, want one such as 512MiB or 4GiB", s)
	}
	*b = Bytes(n * unit)
	return nil
}
