# A skill: the files of its directory are resources, and skills/list has their digests.

skill "house-style" {}
