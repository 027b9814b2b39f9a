package functions

// foreign are the names that functions have elsewhere, by what is written here.
var foreign = map[string]string{
	"uppercase": "upper(text)", "toupper": "upper(text)", "to_upper": "upper(text)", "upcase": "upper(text)",
	"lowercase": "lower(text)", "tolower": "lower(text)", "to_lower": "lower(text)", "downcase": "lower(text)",
	"strip": "trimspace(text)", "size": "length(list)", "strlen": "length(text)",
	"tojson": "jsonencode(value)", "to_json": "jsonencode(value)", "json": "jsonencode(value)", "fromjson": "jsondecode(text)", "from_json": "jsondecode(text)", "parsejson": "jsondecode(text)",
	"now": "timestamp()", "today": "formatdate(\"YYYY-MM-DD\", timestamp())", "date": "formatdate(\"YYYY-MM-DD\", timestamp())",
	"str": "tostring(value)", "string": "tostring(value)", "int": "tonumber(text)", "float": "tonumber(text)", "number": "tonumber(text)",
	"default": "coalesce(value, other)", "ifnull": "coalesce(value, other)", "nvl": "coalesce(value, other)", "isnull": "value == null",
	"quote": "jsonencode(text)", "substring": "substr(text, offset, length)", "sprintf": "format(spec, values...)", "printf": "format(spec, values...)",
	"env": "a variable with env = \"NAME\" as ${var.name}, or a secret as ${secret.name}", "getenv": "a variable with env = \"NAME\" as ${var.name}, or a secret as ${secret.name}",
	"templatefile": "the text where it is needed, with ${...} and %{if}, or file(name) for one without values",
	"if":           "condition ? value : other", "iif": "condition ? value : other",
}

// Instead is what is written here for a function that other languages have, or empty.
func Instead(name string) string { return foreign[name] }
