package result

import (
	"fmt"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/runtime/stage/failure"
)

// shapeMeta computes the metadata that the author declares. It runs after the tool has acted.
func (s *Shaper) shapeMeta(r *Result, f *hcl.Frame) error {
	if s.tool.ResultMeta == nil {
		return nil
	}
	v, err := s.tool.ResultMeta.Eval(f)
	if err != nil {
		return failure.AsFault(err)
	}
	if r.Meta, err = value.AppendJSON(nil, v); err != nil {
		return failure.AsFault(explainJSON(err))
	}
	if len(r.Meta) > hcl.MaxMeta {
		const text = "the metadata of the result takes %s; result_meta of this tool may have %s"
		message := fmt.Sprintf(text, hcl.Size(len(r.Meta)), hcl.Size(hcl.MaxMeta))
		return &adapters.Fault{Message: message, Change: adapters.ChangeDone}
	}
	return nil
}

// appendMembers appends the members of an encoded object, each with a comma after it.
func appendMembers(dst, object []byte) []byte {
	if len(object) <= len("{}") {
		return dst
	}
	return append(append(dst, object[1:len(object)-1]...), ',')
}
