package mcp

// withoutComments returns JSON text in which blanks replace comments and the commas before closing brackets, as
// editors allow them. Every other byte keeps its offset, so that errors have the places of the file.
func withoutComments(src []byte) []byte {
	out := append([]byte(nil), src...)
	comma := -1 // a comma that only blanks follow
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(out) && out[i] != '"' && out[i] != '\n'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(out) && out[i+1] == '/':
			for ; i < len(out) && out[i] != '\n'; i++ {
				out[i] = ' '
			}
		case c == '/' && i+1 < len(out) && out[i+1] == '*':
			i = blankComment(out, i)
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			out[comma], comma = ' ', -1
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma = -1
		}
	}
	return out
}

// blankComment blanks the comment between slashes and stars that begins at an offset, and returns the offset of its
// last byte. One that has no end is left, for the reader to refuse.
func blankComment(out []byte, start int) int {
	for i := start + 2; i+1 < len(out); i++ {
		if out[i] == '*' && out[i+1] == '/' {
			for j := start; j < i+2; j++ {
				if out[j] != '\n' {
					out[j] = ' '
				}
			}
			return i + 1
		}
	}
	return start
}
