/* PNG (ISO/IEC 15948) of one byte a pixel and a palette, without compression of its own: the bytes
 * are stored as deflate's blocks allow it. */

#ifndef CHART_PNG_H
#define CHART_PNG_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A picture: `width` times `height` indices of the palette. */
typedef struct {
    uint32_t width, height;
    const uint8_t *pixels;
    const uint8_t (*palette)[3];
    uint32_t colours;
} png_picture;

/* Most bytes of one stored block. */
#define PNG_BLOCK 65535u

static uint8_t *png_u32(uint8_t *to, uint32_t number) {
    for (int shift = 24; shift >= 0; shift -= 8)
        *to++ = (uint8_t)(number >> shift);
    return to;
}

static uint32_t png_crc(const uint8_t *bytes, size_t length) {
    uint32_t crc = 0xffffffff;
    for (size_t n = 0; n < length; n++) {
        crc ^= bytes[n];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

/* Closes the chunk that begins at `chunk` and holds everything up to `end`. */
static uint8_t *png_close(uint8_t *chunk, uint8_t *end) {
    png_u32(chunk, (uint32_t)(end - chunk - 8));
    return png_u32(end, png_crc(chunk + 4, (size_t)(end - chunk - 4)));
}

static uint8_t *png_open(uint8_t *chunk, const char name[4]) {
    memcpy(chunk + 4, name, 4);
    return chunk + 8;
}

/* The file, which is the caller's; its length in `length`. */
static uint8_t *png_of(const png_picture *picture, size_t *length) {
    size_t row = picture->width + 1, raw = row * picture->height;
    size_t blocks = (raw + PNG_BLOCK - 1) / PNG_BLOCK;
    uint8_t *file = malloc(raw + 5 * blocks + 3 * picture->colours + 128);
    if (file == NULL)
        abort();
    memcpy(file, "\x89PNG\r\n\x1a\n", 8);

    uint8_t *chunk = file + 8, *at = png_open(chunk, "IHDR");
    at = png_u32(png_u32(at, picture->width), picture->height);
    /* Eight bits, a palette, and the only ways there are to compress, filter and order. */
    memcpy(at, (const uint8_t[]){8, 3, 0, 0, 0}, 5);
    chunk = png_close(chunk, at + 5);

    at = png_open(chunk, "PLTE");
    memcpy(at, picture->palette, 3 * picture->colours);
    chunk = png_close(chunk, at + 3 * picture->colours);

    at = png_open(chunk, "IDAT");
    *at++ = 0x78;
    *at++ = 0x01;
    uint32_t low = 1, high = 0;
    for (size_t n = 0; n < raw; n++) {
        if (n % PNG_BLOCK == 0) {
            size_t left = raw - n, size = left < PNG_BLOCK ? left : PNG_BLOCK;
            *at++ = left == size;
            *at++ = (uint8_t)size;
            *at++ = (uint8_t)(size >> 8);
            *at++ = (uint8_t)~size;
            *at++ = (uint8_t)(~size >> 8);
        }
        /* Each row begins with the name of its filter, none. */
        uint8_t byte = n % row == 0 ? 0 : picture->pixels[n / row * picture->width + n % row - 1];
        *at++ = byte;
        low = (low + byte) % 65521;
        high = (high + low) % 65521;
    }
    chunk = png_close(chunk, png_u32(at, high << 16 | low));
    at = png_close(chunk, png_open(chunk, "IEND"));
    *length = (size_t)(at - file);
    return file;
}

#endif
