/* Parses a document with expat: elements, attributes, entities, a CDATA section, a comment; then one with an error. */
#include <stdio.h>
#include <string.h>
#include "expat.h"

static int depth, characters;

static void XMLCALL begin(void *data, const XML_Char *name, const XML_Char **attributes) {
  int count = 0;
  while (attributes[count])
    count += 2;
  printf("%*s%s %d\n", 2 * depth++, "", name, count / 2);
}

static void XMLCALL end(void *data, const XML_Char *name) { depth--; }

static void XMLCALL text(void *data, const XML_Char *s, int length) { characters += length; }

static void parse(const char *document) {
  XML_Parser parser = XML_ParserCreate(NULL);
  XML_SetHashSalt(parser, 12345);
  XML_SetElementHandler(parser, begin, end);
  XML_SetCharacterDataHandler(parser, text);
  if (XML_Parse(parser, document, (int)strlen(document), 1) == XML_STATUS_ERROR)
    printf("line %lu: %s\n", XML_GetCurrentLineNumber(parser), XML_ErrorString(XML_GetErrorCode(parser)));
  XML_ParserFree(parser);
}

int main(void) {
  parse("<?xml version='1.0'?><!DOCTYPE r [<!ENTITY e 'value'><!ATTLIST b k CDATA 'd'>]>\n"
        "<r><a x='1' y='&lt;2'>some &e; text</a><!-- note --><b/><c><![CDATA[<raw>]]></c>&#65;</r>");
  parse("<r>\n<a></b></r>");
  printf("%d characters\n", characters);
  return 0;
}
