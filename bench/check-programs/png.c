/* Writes two small pictures with libpng into memory (grey with palette filters, interlaced colour) and reads them back transformed. */
#include <stdio.h>
#include <string.h>
#include "png.h"

static unsigned char file[8000];
static size_t end, at;

static void put(png_structp png, png_bytep data, size_t n) {
  (void)png;
  memcpy(file + end, data, n);
  end += n;
}

static void get(png_structp png, png_bytep data, size_t n) {
  if (at + n > end)
    png_error(png, "too short");
  memcpy(data, file + at, n);
  at += n;
}

static void quiet(png_structp png, png_const_charp text) { printf("%s\n", text); (void)png; }

static void picture(int colour, int interlace) {
  enum { width = 9, height = 7 };
  static unsigned char rows[height][3 * width];
  png_bytep pointers[height];
  for (int y = 0; y < height; y++) {
    pointers[y] = rows[y];
    for (int x = 0; x < 3 * width; x++)
      rows[y][x] = (unsigned char)(x * y + 3 * x + colour);
  }
  end = at = 0;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, quiet);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, NULL, put, NULL);
  png_set_IHDR(png, info, width, height, 8, colour, interlace, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_gAMA(png, info, 0.45455);
  png_set_filter(png, 0, PNG_ALL_FILTERS);
  png_write_info(png, info);
  png_write_image(png, pointers);
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);

  unsigned sum = 0;
  unsigned char back[height][4 * width];
  png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, quiet);
  info = png_create_info_struct(png);
  if (setjmp(png_jmpbuf(png))) {
    printf("not read\n");
    png_destroy_read_struct(&png, &info, NULL);
    return;
  }
  png_set_read_fn(png, NULL, get);
  png_read_info(png, info);
  png_set_gray_to_rgb(png);
  png_set_filler(png, 255, PNG_FILLER_AFTER);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  for (int y = 0; y < height; y++)
    pointers[y] = back[y];
  memset(back, 0, sizeof back);
  png_read_image(png, pointers);
  png_read_end(png, NULL);
  for (unsigned i = 0; i < sizeof back; i++)
    sum = sum * 31 + back[0][i];
  printf("%zu bytes, %u\n", end, sum);
  png_destroy_read_struct(&png, &info, NULL);
}

int main(void) {
  picture(PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE);
  picture(PNG_COLOR_TYPE_RGB, PNG_INTERLACE_ADAM7);
  return 0;
}
