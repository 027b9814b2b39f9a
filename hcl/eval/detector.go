package eval

import (
	"fmt"
	"sync"

	"hatchel/internal/detect"
)

// MaxDetected is the maximum size in bytes of a text that is looked through.
const MaxDetected = 4 << 20

// Detector replaces what looks like an e-mail address or the like in what one call sends. A nil Detector replaces
// nothing. It is safe for concurrent use.
type Detector struct {
	kinds  detect.Kinds
	mu     sync.Mutex
	counts detect.Counts // guarded by mu
}

// NewDetector returns a Detector of kinds; nil for none.
func NewDetector(kinds detect.Kinds) *Detector {
	if kinds == 0 {
		return nil
	}
	return &Detector{kinds: kinds}
}

// Text returns a text without values of the kinds.
func (d *Detector) Text(text string) string {
	if d == nil {
		return text
	}
	var n detect.Counts
	defer d.count(&n)
	return d.kinds.Text(text, &n)
}

// Bytes is Text of bytes, which it may return themselves.
func (d *Detector) Bytes(text []byte) []byte {
	if d == nil {
		return text
	}
	var n detect.Counts
	defer d.count(&n)
	return d.kinds.Bytes(text, &n)
}

// JSON returns encoded JSON without values of the kinds in its texts. Names of members stay.
func (d *Detector) JSON(text []byte) []byte {
	if d == nil {
		return text
	}
	var n detect.Counts
	defer d.count(&n)
	return d.kinds.JSON(text, &n)
}

func (d *Detector) count(n *detect.Counts) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range n {
		d.counts[i] += n[i]
	}
}

// Counts returns how many values of each kind were replaced, without those of which there was none.
func (d *Detector) Counts() map[string]int {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var counts map[string]int
	for i, n := range d.counts {
		if n > 0 {
			if counts == nil {
				counts = map[string]int{}
			}
			counts[detect.Words[i]] = n
		}
	}
	return counts
}

// CheckSize fails for a text that is too large to be looked through.
func (d *Detector) CheckSize(size int) error {
	if d == nil || size <= MaxDetected {
		return nil
	}
	return fmt.Errorf("the result has %d bytes of text; a mask with detect looks through at most %d", size, MaxDetected)
}
