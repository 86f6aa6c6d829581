package body

import (
	"bytes"
	"compress/flate"
	"strings"
	"testing"
)

func TestCodings(t *testing.T) {
	text := []byte(strings.Repeat("packed and unpacked ", 500))
	for _, all := range [][]string{nil, {"gzip"}, {"br"}, {"zstd"}, {"deflate"}, {"gzip", "br"}} {
		packed, err := Pack(text, all)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := Unpack(packed, all, int64(len(text)))
		if err != nil || !bytes.Equal(plain, text) {
			t.Errorf("%v: %d bytes, %v", all, len(plain), err)
		}
		if len(all) == 0 {
			continue
		}
		if len(packed) >= len(text) {
			t.Errorf("%v: %d bytes of %d", all, len(packed), len(text))
		}
		if _, err := Unpack(packed, all, int64(len(text))-1); err == nil {
			t.Errorf("%v: more came out than may", all)
		}
	}
	var raw bytes.Buffer
	z, err := flate.NewWriter(&raw, flate.BestSpeed)
	if err == nil {
		_, err = z.Write(text)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := Unpack(raw.Bytes(), []string{"deflate"}, 1<<20); err != nil || !bytes.Equal(plain, text) {
		t.Errorf("deflate without a head: %v", err)
	}
	for _, applied := range [][]string{{"compress"}, {"gzip", "gzip", "gzip", "gzip", "gzip"}} {
		if _, err := Unpack(text, applied, 1<<20); err == nil {
			t.Errorf("%v was unpacked", applied)
		}
	}
}
