package result

import (
	"bytes"

	"hatchel/internal/tokens"
)

// Tokens estimates how many tokens of a model's context the reply takes, in a bounded time. Of a text and a structured
// result it is the larger one, because hosts give a model one of them. Images and other data are not text.
func (b *Buffers) Tokens() int {
	texts := max(tokens.Sample(b.Structured), tokens.Sample(b.Text))
	if len(b.Blocks) == 0 {
		return texts
	}
	sample, size := withoutData(b.Blocks)
	blocks := tokens.Sample(sample)
	if len(sample) > 0 {
		blocks = int(float64(blocks) * float64(size) / float64(len(sample)))
	}
	return max(texts, blocks)
}

// dataMembers begin data in base64 in encoded blocks. A text has no such member, because its quotes are escaped.
var dataMembers = [][]byte{[]byte(`"data":"`), []byte(`"blob":"`)}

// withoutData returns the beginning of encoded blocks, which has no data in base64, and the size of all of them
// without data.
func withoutData(blocks []byte) (sample []byte, size int) {
	const most = 4 << 10
	for len(blocks) > 0 {
		at, data := len(blocks), 0
		for _, member := range dataMembers {
			if i := bytes.Index(blocks[:at], member); i >= 0 {
				at = i + len(member)
			}
		}
		if at < len(blocks) {
			data = max(bytes.IndexByte(blocks[at:], '"'), 0)
		}
		if room := most - len(sample); room > 0 {
			sample = append(sample, blocks[:min(at, room)]...)
		}
		size += at
		blocks = blocks[at+data:]
	}
	return sample, size
}
