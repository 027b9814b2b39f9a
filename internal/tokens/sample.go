package tokens

import "unsafe"

// sampleSize is how many bytes of a text Sample reads.
const sampleSize = 4 << 10

// Sample returns the estimate for a text by its first 4 KiB, in proportion to its length: what a long table of rows
// takes is known from its first rows. It allocates nothing, and its time is bounded.
func Sample(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	n := min(len(text), sampleSize)
	estimate := Estimate(unsafe.String(&text[0], n))
	return int(float64(estimate)*float64(len(text))/float64(n) + 0.5)
}
