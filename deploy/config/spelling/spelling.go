// Package spelling finds the word that was perhaps meant.
package spelling

// maxWord is how long a word may be for anybody to have meant another one.
const maxWord = 100

// Nearest returns the one of some names that is at most two letters off, and the nearest; or
// nothing.
func Nearest(name string, names []string) (best string) {
	if len(name) > maxWord {
		return ""
	}
	off := 3
	for _, n := range names {
		if d := distance(name, n); d < off && d < len(n) {
			best, off = n, d
		}
	}
	return best
}

// distance is Levenshtein's: how many bytes are to be added, left out or replaced to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		above := row[0] // of the column before
		row[0] = i + 1
		for j := range len(b) {
			replaced := above
			if a[i] != b[j] {
				replaced++
			}
			above = row[j+1]
			row[j+1] = min(replaced, row[j]+1, above+1)
		}
	}
	return row[len(b)]
}
