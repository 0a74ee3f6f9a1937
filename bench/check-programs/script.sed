# Addresses, substitutions with groups, hold space, a loop and a translation, for sed.
1,3{
  h
  s/\([0-9]\)/<\1>/g
  G
  y/123/abc/
}
/^[4-6]$/!{
  $!d
}
:again
s/^\(.\{1,4\}\)$/ \1/
t again
$s/$/ end/p
