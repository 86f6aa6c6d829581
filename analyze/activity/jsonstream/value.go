package jsonstream

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// space returns the index of the first byte from i on that is not white.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// value returns the end of the value at an index.
func value(b []byte, i int) (int, bool) {
	if i < len(b) && b[i] == '"' {
		return text(b, i)
	}
	var s scan
	n, done := s.next(b[i:])
	return i + n, n > 0 && (done || s.plain)
}

// text returns the end of the string at an index.
func text(b []byte, i int) (int, bool) {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i + 1, true
		case '\\':
			i++
		}
	}
	return len(b), false
}

// Fields goes through the fields of an object until the function returns false. It reports whether
// these fields are well formed. Keys with escapes stay as they are.
func Fields(raw []byte, field func(key, value []byte) bool) bool {
	_, ok := fields(raw, field)
	return ok
}

// fields returns the end of the object too; 0: it was not reached.
func fields(raw []byte, field func(key, value []byte) bool) (end int, ok bool) {
	i := space(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		return 0, false
	}
	for i = space(raw, i+1); i < len(raw); {
		if raw[i] == '}' {
			return i + 1, true
		}
		end, ok := value(raw, i)
		if raw[i] != '"' || !ok {
			return 0, false
		}
		key := raw[i+1 : end-1]
		if i = space(raw, end); i == len(raw) || raw[i] != ':' {
			return 0, false
		}
		i = space(raw, i+1)
		if end, ok = value(raw, i); !ok {
			return 0, false
		}
		if !field(key, raw[i:end]) {
			return 0, true
		}
		if i = space(raw, end); i < len(raw) && raw[i] == ',' {
			i = space(raw, i+1)
		} else if i == len(raw) || raw[i] != '}' {
			return 0, false
		}
	}
	return 0, false
}

// Fields takes the next value, if it is a well formed object in the buffer, and goes through its
// fields. Else it returns false and takes nothing. The function may have been called then.
func (s *Stream) Fields(field func(key, value []byte)) bool {
	if _, err := s.Peek(); err != nil {
		return false
	}
	plain := true
	end, _ := fields(s.buffer[s.at:s.end], func(key, value []byte) bool {
		if !special[value[0]] { // a number or a word has no quotes and brackets
			for _, c := range value {
				plain = plain && !special[c]
			}
		}
		field(key, value)
		return plain
	})
	s.at += end
	return end > 0
}

// Elements goes through the elements of an array until the function returns false.
func Elements(raw []byte, element func(value []byte) bool) bool {
	i := space(raw, 0)
	if i == len(raw) || raw[i] != '[' {
		return false
	}
	for i = space(raw, i+1); i < len(raw); {
		if raw[i] == ']' {
			return true
		}
		end, ok := value(raw, i)
		if !ok {
			return false
		}
		if !element(raw[i:end]) {
			return true
		}
		if i = space(raw, end); i < len(raw) && raw[i] == ',' {
			i = space(raw, i+1)
		} else if i == len(raw) || raw[i] != ']' {
			return false
		}
	}
	return false
}

// Find returns the value at a path of keys, or nil.
func Find(raw []byte, path ...string) []byte {
	for _, name := range path {
		var found []byte
		Fields(raw, func(key, value []byte) bool {
			if string(key) == name {
				found = value
			}
			return found == nil
		})
		if raw = found; raw == nil {
			return nil
		}
	}
	return raw
}

// Text returns the text of a string. Bytes that are not UTF-8 become U+FFFD.
func Text(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1]), true
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// Decimal returns a number times 10^shift, rounded towards −∞. It is exact, except for numbers with
// an exponent. Numbers in strings count too.
func Decimal(raw []byte, shift int) (int64, bool) {
	if len(raw) > 2 && raw[0] == '"' {
		raw = raw[1 : len(raw)-1]
	}
	i, negative := 0, false
	if len(raw) > 0 && raw[0] == '-' {
		i, negative = 1, true
	}
	if i == len(raw) {
		return 0, false
	}
	var n int64
	point, rest, digits, whole := false, false, 0, shift
	for ; i < len(raw); i++ {
		c := raw[i]
		switch {
		case c == '.' && !point:
			point = true
			continue
		case c == 'e' || c == 'E':
			f, err := strconv.ParseFloat(string(raw), 64)
			if f = math.Floor(f * math.Pow10(whole)); err != nil || math.Abs(f) >= 1<<62 {
				return 0, false
			}
			return int64(f), true
		case c < '0' || c > '9':
			return 0, false
		}
		digits++
		if point {
			if shift == 0 {
				rest = rest || c != '0'
				continue
			}
			shift--
		}
		if n > (1<<62)/10 {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	for ; shift > 0; shift-- {
		if n > (1<<62)/10 {
			return 0, false
		}
		n *= 10
	}
	if negative {
		if n = -n; rest {
			n--
		}
	}
	return n, digits > 0
}

// Int returns an integer of 32 bits, or 0.
func Int(raw []byte) int32 {
	n, ok := Decimal(raw, 0)
	if !ok || n != int64(int32(n)) {
		return 0
	}
	return int32(n)
}
