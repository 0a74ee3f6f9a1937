/* Parses a document with libyaml and writes it again: mappings, sequences, anchors, block and quoted scalars. */
#include <stdio.h>
#include "yaml.h"

static const char text[] =
    "# a comment\n"
    "name: &n value\n"
    "list: [1, two, 'three''s', \"fo\\u0075r\\n\"]\n"
    "map:\n  - a: *n\n    b: !!str 3\n  - |\n    block\n    text\n  - >-\n    folded\n    text\n";

int main(void) {
  yaml_parser_t parser;
  yaml_emitter_t emitter;
  yaml_event_t event;
  int done = 0, count = 0;
  yaml_parser_initialize(&parser);
  yaml_emitter_initialize(&emitter);
  yaml_parser_set_input_string(&parser, (const unsigned char *)text, sizeof text - 1);
  yaml_emitter_set_output_file(&emitter, stdout);
  while (!done) {
    if (!yaml_parser_parse(&parser, &event))
      return 1;
    done = event.type == YAML_STREAM_END_EVENT;
    count++;
    if (!yaml_emitter_emit(&emitter, &event))
      return 2;
  }
  yaml_parser_delete(&parser);
  yaml_emitter_delete(&emitter);
  printf("%d events\n", count);
  return 0;
}
