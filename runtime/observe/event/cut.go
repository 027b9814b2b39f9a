package event

import "hatchel/hcl/jsonscan"

const (
	maxEvent  = 64 << 10 // bytes of the data
	maxMember = 1 << 10  // bytes of a member of data that is larger
)

// cutMembers are members whose own members are cut in their place, because their ids are among them.
var cutMembers = map[string]bool{"approval": true, "report": true}

// appendCut appends an event that is too large, without its members of more than 1 KiB. Its last member says how many
// bytes are left out. What identifies an event is always shorter.
func appendCut(dst, data []byte) []byte {
	dst, omitted := appendSmall(dst, data, cutMembers)
	return append(appendInt(dst[:len(dst)-1], "omitted_bytes", omitted), '}')
}

// appendSmall appends the members of an object that are small, and what is small in those that are named. It returns
// the size of the others.
func appendSmall(dst, object []byte, named map[string]bool) (_ []byte, omitted int) {
	s := jsonscan.New(object, len(object))
	s.Peek()
	mark, err := s.EnterObject()
	dst = append(dst, '{')
	for open := len(dst); err == nil; {
		var key, value []byte
		if key, err = s.Key(mark); key == nil || err != nil {
			break
		}
		if value, err = s.Value(); err != nil {
			break
		}
		isNamed := named[string(key)] && value[0] == '{'
		if len(value) > maxMember && !isNamed {
			omitted += len(value)
			continue
		}
		if len(dst) > open {
			dst = append(dst, ',')
		}
		dst = append(jsonscan.AppendString(dst, key), ':')
		if !isNamed {
			dst = append(dst, value...)
			continue
		}
		n := 0
		dst, n = appendSmall(dst, value, nil)
		omitted += n
	}
	return append(dst, '}'), omitted
}
