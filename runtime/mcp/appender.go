package mcp

import "hatchel/hcl/jsonscan"

// Appender appends encoded JSON to dst and returns the extended slice. It is called at most once, soon after the method of the
// Handler that it came from has returned.
type Appender interface {
	AppendJSON(dst []byte) []byte
}

// Raw is encoded JSON.
type Raw []byte

// AppendJSON appends the bytes as they are.
func (r Raw) AppendJSON(dst []byte) []byte { return append(dst, r...) }

// Text is content that consists of one text block.
type Text string

// AppendJSON appends an array with the text block.
func (t Text) AppendJSON(dst []byte) []byte {
	return append(jsonscan.AppendString(append(dst, `[{"type":"text","text":`...), t), "}]"...)
}
